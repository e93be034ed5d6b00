/**
 * Lit without what no template of the components uses: fragments of SVG and MathML, directives, bindings on an element
 * itself, in comments and in the text of a `<textarea>`, attributes made of several values, listeners that are taken away,
 * and hooks of polyfills. 900 bytes of what every page loads.
 *
 * lit is pinned, and so is what is cut. Where it reads otherwise in another version, the build ends here.
 */
import { readFile } from "node:fs/promises";

/** What stands in `lit-html.js`, and what stands in its place. */
const CUTS = [
  [",w=x(2),T=x(3)", ",w=b,T=b"],
  [",B=t.litHtmlPolyfillSupport;B?.(S,k),(", ";("],
  ['l=2===i?"<svg>":3===i?"<math>":""', 'l=""'],
  ['+(2===i?"</svg>":3===i?"</math>":"")', ""],
  ["if(this.el=S.createElement(f,e),P.currentNode=this.el.content,2===i||3===i){const t=this.el.content.firstChild;t.replaceWith(...t.childNodes)}", "this.el=S.createElement(f,e),P.currentNode=this.el.content;"],
  ['(y.test(u[2])&&(n=RegExp("</"+u[2],"g")),c=p)', "(c=p)"],
  ['if(y.test(r.tagName)){const t=r.textContent.split(o),i=t.length-1;if(i>0){r.textContent=s?s.emptyScript:"";for(let s=0;s<i;s++)r.append(t[s],c()),P.nextNode(),d.push({type:2,index:++l});r.append(t[i],c())}}', ""],
  ["else{let t=-1;for(;-1!==(t=r.data.indexOf(o,t+1));)d.push({type:7,index:l}),t+=o.length-1}", ""],
  ["else t.startsWith(o)&&(d.push({type:6,index:l}),r.removeAttribute(t))", ""],
  [":6===r.type&&(i=new Z(h,this,t))", ":0"],
  ["let h=void 0!==e?s._$Co?.[e]:s._$Cl;const o=a(i)?void 0:i._$litDirective$;return h?.constructor!==o&&(h?._$AO?.(!1),void 0===o?h=void 0:(h=new o(t),h._$AT(t,s,e)),void 0!==e?(s._$Co??=[])[e]=h:s._$Cl=h),void 0!==h&&(i=M(t,h._$AS(t,i.values),h,e)),i}", "return i}"],
  ['s.length>2||""!==s[0]||""!==s[1]?(this._$AH=Array(s.length-1).fill(new String),this.strings=s):this._$AH=A', "this._$AH=A"],
  ["_$AI(t,i=this,s,e){const h=this.strings;let o=!1;if(void 0===h)t=M(this,t,i,0),o=!a(t)||t!==this._$AH&&t!==E,o&&(this._$AH=t);else{const e=t;let n,r;for(t=h[0],n=0;n<h.length-1;n++)r=M(this,e[s+n],i,n),r===E&&(r=this._$AH[n]),o||=!a(r)||r!==this._$AH[n],r===A?t=A:t!==A&&(t+=(r??\"\")+h[n+1]),this._$AH[n]=r}o&&!e&&this.j(t)}", "_$AI(t){t!==this._$AH&&this.j(this._$AH=t)}"],
  ["let i=0;for(const s of this._$AV)void 0!==s&&(void 0!==s.strings?(s._$AI(t,s,i),i+=s.strings.length-2):s._$AI(t[i])),i++", "this._$AV.forEach((s,i)=>s._$AI(t[i]))"],
  ["_$AI(t,i=this){if((t=M(this,t,i,0)??A)===E)return;const s=this._$AH,e=t===A&&s!==A||t.capture!==s.capture||t.once!==s.once||t.passive!==s.passive,h=t!==A&&(s===A||e);e&&this.element.removeEventListener(this.name,this,s),h&&this.element.addEventListener(this.name,this,t),this._$AH=t}", "_$AI(t){this._$AH===A&&this.element.addEventListener(this.name,this),this._$AH=t}"],
  ['"function"==typeof this._$AH?this._$AH.call(this.options?.host??this.element,t):this._$AH.handleEvent(t)', "this._$AH.call(this.element,t)"],
  ["_$AI(t,i=this){t=M(this,t,i),a(t)", "_$AI(t){a(t)"],
  ["t!==this._$AH&&t!==E&&this._(t)", "t!==this._$AH&&this._(t)"],
  ['"number"==typeof s?this._$AC(t):(void 0===s.el&&(s.el=S.createElement(V(s.h,s.h[0]),this.options)),s)', "this._$AC(t)"],
  ["get parentNode(){let t=this._$AA.parentNode;const i=this._$AM;return void 0!==i&&11===t?.nodeType&&(t=i.parentNode),t}get startNode(){return this._$AA}get endNode(){return this._$AB}", ""],
  ["get _$AU(){return this._$AM?._$AU??this._$Cv}", ""],
  ["get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(t)", "u(t)"],
  ["get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}", ""],
  [";(t.litHtmlVersions??=[]).push(\"3.3.3\")", ""],
  ["this.type=2,this._$AH=A,this._$AN=void 0,", "this._$AH=A,"],
  [",this.options=e,this._$Cv=e?.isConnected??!0", ""],
  ["this._$AV=[],this._$AN=void 0,", "this._$AV=[],"],
  ["this.type=1,this._$AH=A,this._$AN=void 0,", ""],
  [",this.options=h,this._$AH=A", ",this._$AH=A"],
  ["constructor(){super(...arguments),this.type=3}", ""],
  ["constructor(){super(...arguments),this.type=4}", ""],
  ["constructor(t,i,s,e,h){super(t,i,s,e,h),this.type=5}", ""],
  ["(t?.creationScope??l).importNode", "l.importNode"],
  ["const e=s?.renderBefore??i;let h=e._$litPart$;if(void 0===h){const t=s?.renderBefore??null;e._$litPart$=h=new k(i.insertBefore(c(),t),t,void 0,s??{})}return", "const h=i._$litPart$??=new k(i.appendChild(c()),null);return"],
  ['"!--"===u[1]?c=_:void 0!==u[1]?c=m:void 0!==u[2]?(c=p):void 0!==u[3]&&(c=p)', "c=p"],
  ["c===_||c===m?c=v:(c=p,n=void 0)", "c=p"],
  ["c=n??v", "c=v"],
  ['const x=c===p&&t[i+1].startsWith("/>")?" ":"";', ""],
  ["d>=0?(e.push(a),s.slice(0,d)+h+s.slice(d)+o+x):s+o+(-2===d?i:x)", "(e.push(a),s.slice(0,d)+h+s.slice(d)+o)"],
  ["void 0===u[1]?d=-2:(", "("],
  ["s=r.getAttribute(t).split(o),e=", "e="],
  [",strings:s,ctor", ",ctor"],
  ["new r.ctor(h,r.name,r.strings,this,t)", "new r.ctor(h,r.name)"],
  ["this.element=t,this.name=i,this._$AM=e", "this.element=t,this.name=i"],
  ['throw Error("invalid template strings array")', "throw Error()"],
  ["void 0!==t.nodeType?this.T(t):d(t)?", "u(t)?"],
  ["this._$AA=t,this._$AB=i,this._$AM=s", "this._$AA=t,this._$AB=i"],
  ["this._$AD=t,this._$AM=i", "this._$AD=t"],
  ["new k(h,h.nextSibling,this,t)", "new k(h,h.nextSibling)"],
  ["new k(this.O(c()),this.O(c()),this,this.options)", "new k(this.O(c()),this.O(c()))"],
  ["new R(e,this),s=t.u(this.options)", "new R(e),s=t.u()"],
  ["this._$AH!==t&&(this._$AR(),this._$AH=this.O(t))", "this._$AR(),this._$AH=this.O(t)"],
  ["_$AR(s&&s._$AB.nextSibling,e)", "_$AR(s&&s._$AB.nextSibling)"],
  [String.raw`(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))`, String.raw`\/?[a-zA-Z][^>\s]*`],
  ["for(this._$AP?.(!1,!0,s);t!==", "for(;t!=="],
  ["setConnected(t){void 0===this._$AM&&(this._$Cv=t,this._$AP?.(t))}", ""],
  ["const s=i(t).nextSibling;i(t).remove(),t=s", "const s=t.nextSibling;t.remove(),t=s"],
  ["constructor(t,i,s,e){", "constructor(t,i){"],
  ["constructor(t,i,s,e,h){", "constructor(t,i){"],
];

/** @type {import("esbuild").Plugin} */
export const lean = {
  name: "lean",
  setup({ onLoad }) {
    onLoad({ filter: /lit-html\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [text = "", other = ""] of CUTS) {
        if (contents.split(text).length !== 2) throw new Error(`${path} is another version: look at ${text.slice(0, 40)} in build/lean.js`);
        contents = contents.replace(text, () => other);
      }
      return { contents };
    });
  },
};
