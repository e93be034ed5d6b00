const PATHS = {
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M7 7l10 10M17 7L7 17",
  edit: "M4 20l4.5-1L19 8.5 15.5 5 5 15.5zM13 7.5l3.5 3.5",
  gate: "M5 20V9a7 7 0 0114 0v11M5 20h14M12 20v-9M9 20v-9M15 20v-9",
  clock: "M12 4a8 8 0 100 16 8 8 0 000-16zM12 8v4l3 2",
  skip: "M6 6l7 6-7 6zM17 6v12",
  stop: "M8 8h8v8H8z",
  warning: "M12 4L3 19h18zM12 10v4M12 16.5v.5",
  chevron: "M9 6l6 6-6 6",
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  retry: "M20 12a8 8 0 11-2.3-5.6M20 4v4h-4",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 019.5 4 8.5 8.5 0 1020 14.5z",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  bin: "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12",
  send: "M5 12h14M13 6l6 6-6 6",
} as const;

export type IconName = keyof typeof PATHS;

/** A line icon; decorative, so hidden from assistive technology. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="gate-icon" data-name={name} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
