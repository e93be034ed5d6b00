import { endOf } from "agui-gate-components/core/countdown.js";
import { serverNow } from "agui-gate-components/core/servertime.js";
import { useEffect, useState } from "react";

const LONGEST = 2 ** 31 - 1; // what a timer can wait

/** Which of these moments (ISO 8601) are over. A moment that is none never is. */
export function useOver(ends: (string | number | null | undefined)[]): boolean[] {
  const [now, setNow] = useState(serverNow);
  const moments = ends.map((end) => endOf(end) ?? Number.NaN);
  const next = Math.min(...moments.filter((moment) => moment > now));
  useEffect(() => {
    if (next === Number.POSITIVE_INFINITY) return;
    const timer = setTimeout(() => setNow(serverNow()), Math.min(Math.max(0, next - serverNow()), LONGEST));
    return () => clearTimeout(timer);
  }, [next, now]);
  return moments.map((moment) => moment <= now);
}
