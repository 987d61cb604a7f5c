/** A part of one, as a locale writes it: 0.9 is "90%". */
export const percent = (part: number): string =>
  new Intl.NumberFormat(navigator.language, { style: "percent", maximumFractionDigits: 0 }).format(
    part,
  );
