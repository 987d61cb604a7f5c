/** How many tasks are read at most; a hundred waiting is "99+" to anybody. */
export const attentionLimit = 100;
