import { useTranslation } from "react-i18next";
import type { RepositoryConfig } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Stack } from "#ui/components/Stack.tsx";

/** What is wrong with `.forge.json`, which is then not in force. Nothing is shown of one that is right. */
export function BrokenFile({ read: { findings, looked_at } }: { read: RepositoryConfig }) {
  const { t } = useTranslation();
  if (findings.length === 0) return null;
  return (
    <Banner
      tone="warning"
      title={t("innerLoop.file.broken")}
      evidence={
        <Stack as="ul" gap={2} data-selectable>
          {findings.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              {path && <code>{path}</code>} {message}
            </li>
          ))}
        </Stack>
      }
    >
      {t("innerLoop.file.brokenText", { commit: looked_at.slice(0, 8) })}
    </Banner>
  );
}
