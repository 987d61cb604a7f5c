/** The board's fixed measures in pixels; Card.module.css has the same height. */
export const cardSizes = { row: 100, gap: 6, padding: 6 } as const;
