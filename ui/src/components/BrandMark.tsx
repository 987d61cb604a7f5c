/** The mark in one colour; the strokes carry the brand's ember in the coloured icon only. */
export function BrandMark({ size = 18 }: { size?: number }) {
  return (
    <svg viewBox="0 0 64 64" width={size} height={size} aria-hidden>
      <path
        fill="currentColor"
        d="M4 27H60V31C60 34 57 35 53 35C46.5 35 44 38 44 41.5C44 45 46.5 46.5 50 47.5C53.5 48.5 56 50 56 53V59H12V53C12 50 14.5 48.5 17.5 47.5C21 46.5 24 45 24 41.5C24 37.5 19 36 14 34.5C8 32.5 5 30 4 27Z"
      />
      <path
        fill="none"
        stroke="currentColor"
        strokeWidth="5.5"
        strokeLinecap="round"
        d="M32 6.5V18.5M16 9.5L22.5 18.5M48 9.5L41.5 18.5"
      />
    </svg>
  );
}
