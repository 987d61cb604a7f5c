/** How long the engine keeps backups of worktrees; `KEPT_DAYS` of its `backups` module. */
export const WORKTREE_BACKUP_DAYS = 30;
