/** What an MCP client must be told, ready to be copied. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { ClientConfig, McpTransport } from "#ui/api/generated.ts";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import {
  clientsOf,
  configOf,
  isOfProject,
  tokenLine,
  type Access,
  type Choice,
} from "./clients.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./SettingsScreen.module.css";

const transports: readonly McpTransport[] = ["stdio", "http"];

/** How the client reaches Forge, and what of that is asked of the person. */
function useNote(config: ClientConfig, auth: boolean): string {
  const { t } = useTranslation();
  const { title: client, transport } = config;
  if (transport === "stdio") return t("apiAccess.note.stdio", { client });
  if (!auth) return t("apiAccess.note.open", { client });
  return t(config.token_variable === null ? "apiAccess.note.asks" : "apiAccess.note.http", {
    client,
  });
}

function File({ path }: { path: string }) {
  const { t } = useTranslation();
  return (
    <>
      {path}
      {isOfProject(path) && <span className={styles.prose}>{t("apiAccess.ofProject")}</span>}
    </>
  );
}

function Config({ config, access }: { config: ClientConfig; access: Access }) {
  const { t } = useTranslation();
  const { title: client, file, text, command, token_variable: variable } = config;
  return (
    <>
      <p className={layout.note}>
        <Said text={useNote(config, access.auth)} />
      </p>
      {variable !== null && (
        <CodeBlock
          caption={<span className={styles.prose}>{t("apiAccess.tokenLine", { client })}</span>}
          code={tokenLine(variable, access.token_file)}
          wrap
          copyLabel={t("apiAccess.copyTokenLine", { variable })}
        />
      )}
      <CodeBlock
        caption={<File path={file} />}
        code={text.trimEnd()}
        copyLabel={t("apiAccess.copyFile", { client })}
      />
      {command !== null && (
        <CodeBlock
          caption={<span className={styles.prose}>{t("apiAccess.commandLine")}</span>}
          code={command}
          wrap
          copyLabel={t("apiAccess.copyCommand", { client })}
        />
      )}
    </>
  );
}

export function Clients({ access }: { access: Access }) {
  const { t } = useTranslation();
  const [choice, setChoice] = useState<Choice>({ client: "codex", transport: "stdio" });
  const config = configOf(access.clients, choice);
  return (
    <div className={styles.clients}>
      <h3>{t("apiAccess.clients")}</h3>
      <div className={styles.choices}>
        <SegmentedControl
          label={t("apiAccess.client")}
          value={choice.client}
          segments={clientsOf(access.clients)}
          onChange={(client) => setChoice({ ...choice, client })}
        />
        <SegmentedControl
          label={t("apiAccess.transport")}
          value={choice.transport}
          segments={transports.map((value) => ({
            value,
            label: t(`apiAccess.transports.${value}`),
          }))}
          onChange={(transport) => setChoice({ ...choice, transport })}
        />
      </div>
      {config ? (
        <Config config={config} access={access} />
      ) : (
        <p className={layout.note}>
          <Said text={t("apiAccess.note.noHttp")} />
        </p>
      )}
    </div>
  );
}
