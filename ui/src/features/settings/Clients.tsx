/** What an MCP client must be told, ready to be copied. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { ClientConfig, Doors, McpTransport } from "#ui/api/generated.ts";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { clientsOf, configOf, isOfProject, tokenLine, type Choice } from "./clients.ts";
import styles from "./SettingsScreen.module.css";

const transports: readonly McpTransport[] = ["stdio", "http"];

/** How the client reaches Forge, and what of that is asked of the person. */
function useNote(config: ClientConfig, auth: boolean): string {
  const { t } = useTranslation();
  const { title: client, transport } = config;
  if (transport === "stdio") return t("doors.note.stdio", { client });
  if (!auth) return t("doors.note.open", { client });
  return t(config.token_variable === null ? "doors.note.asks" : "doors.note.http", { client });
}

function File({ path }: { path: string }) {
  const { t } = useTranslation();
  return (
    <>
      {path}
      {isOfProject(path) && <span className={styles.prose}>{t("doors.ofProject")}</span>}
    </>
  );
}

function Config({ config, doors }: { config: ClientConfig; doors: Doors }) {
  const { t } = useTranslation();
  const { title: client, file, text, command, token_variable: variable } = config;
  return (
    <>
      <p className={styles.hint}>
        <Said text={useNote(config, doors.auth)} />
      </p>
      {variable !== null && (
        <CodeBlock
          caption={<span className={styles.prose}>{t("doors.tokenLine", { client })}</span>}
          code={tokenLine(variable, doors.token_file)}
          wrap
          copyLabel={t("doors.copyTokenLine", { variable })}
        />
      )}
      <CodeBlock
        caption={<File path={file} />}
        code={text.trimEnd()}
        copyLabel={t("doors.copyFile", { client })}
      />
      {command !== null && (
        <CodeBlock
          caption={<span className={styles.prose}>{t("doors.commandLine")}</span>}
          code={command}
          wrap
          copyLabel={t("doors.copyCommand", { client })}
        />
      )}
    </>
  );
}

export function Clients({ doors }: { doors: Doors }) {
  const { t } = useTranslation();
  const [choice, setChoice] = useState<Choice>({ client: "codex", transport: "stdio" });
  const config = configOf(doors.clients, choice);
  return (
    <div className={styles.clients}>
      <h3>{t("doors.clients")}</h3>
      <div className={styles.choices}>
        <SegmentedControl
          label={t("doors.client")}
          value={choice.client}
          segments={clientsOf(doors.clients)}
          onChange={(client) => setChoice({ ...choice, client })}
        />
        <SegmentedControl
          label={t("doors.transport")}
          value={choice.transport}
          segments={transports.map((value) => ({
            value,
            label: t(`doors.transports.${value}`),
          }))}
          onChange={(transport) => setChoice({ ...choice, transport })}
        />
      </div>
      {config ? (
        <Config config={config} doors={doors} />
      ) : (
        <p className={styles.hint}>
          <Said text={t("doors.note.noHttp")} />
        </p>
      )}
    </div>
  );
}
