import { useEffect, useState } from "react";
import { serverNow } from "./serverTime";

/** Seconds until `end` (ISO 8601), counted down; null if there is no end or nobody can read it. */
export function useCountdown(end: string | undefined): number | null {
  const at = end ? Date.parse(end) : Number.NaN;
  const [now, setNow] = useState(serverNow);
  const left = Math.max(0, Math.ceil((at - now) / 1000));
  const over = Number.isNaN(at) || left === 0;
  useEffect(() => {
    if (over) return;
    const clock = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(clock);
  }, [over]);
  return Number.isNaN(at) ? null : left;
}

const LONGEST = 2 ** 31 - 1; // what a timer can wait

/** Which of these moments (ISO 8601) are over. A moment that is none never is. */
export function useOver(ends: (string | undefined)[]): boolean[] {
  const [now, setNow] = useState(serverNow);
  const moments = ends.map((end) => (end ? Date.parse(end) : Number.NaN));
  const next = Math.min(...moments.filter((moment) => moment > now));
  useEffect(() => {
    if (next === Number.POSITIVE_INFINITY) return;
    const timer = setTimeout(() => setNow(serverNow()), Math.min(Math.max(0, next - serverNow()), LONGEST));
    return () => clearTimeout(timer);
  }, [next, now]);
  return moments.map((moment) => moment <= now);
}

/** `42 s`, `4:09`, `3 h 20 min`, `2 d`. */
export function formatLeft(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const minutes = Math.floor((seconds % 3600) / 60);
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h${minutes > 0 ? ` ${minutes} min` : ""}`;
  return `${Math.floor(seconds / 86_400)} d`;
}
