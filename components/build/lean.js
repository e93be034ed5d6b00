/**
 * Lit without what no template of the components uses: fragments of SVG and MathML, directives, bindings on an element
 * itself, in comments and in the text of a `<textarea>`, and hooks of polyfills. 400 bytes of what every page loads.
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
  ["for(this._$AP?.(!1,!0,s);t!==", "for(;t!=="],
  ["setConnected(t){void 0===this._$AM&&(this._$Cv=t,this._$AP?.(t))}", ""],
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
