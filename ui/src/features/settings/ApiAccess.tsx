/** How other programs reach this Forge: addresses, the switch of MCP, the token, what clients must be told. */
import { useEffect, useRef, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { useRoute } from "#ui/app/router.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Clients } from "./Clients.tsx";
import { folderOf, type Access } from "./clients.ts";
import { Row, Section } from "./Section.tsx";
import { Token } from "./Token.tsx";
import styles from "./SettingsScreen.module.css";

function Address({ url, copyLabel }: { url: string; copyLabel: string }) {
  return (
    <span className={styles.value}>
      <code>{url}</code>
      <CopyButton text={url} label={copyLabel} />
    </span>
  );
}

function McpSwitch({ access, onChanged }: { access: Access; onChanged: () => void }) {
  const { t } = useTranslation();
  const update = useOpMutation("doors_update", {
    onSuccess: onChanged,
    onError: ({ message }) =>
      showToast({ tone: "danger", title: t("apiAccess.notSwitched"), detail: message }),
  });
  return (
    <div className={styles.switch}>
      <Switch
        label={t("apiAccess.mcp")}
        hint={
          <Said text={t(access.mcp_allowed ? "apiAccess.mcpHint" : "apiAccess.mcpNotAllowed")} />
        }
        disabled={!access.mcp_allowed}
        checked={access.mcp_enabled}
        onChange={(mcp_enabled) => update.mutate({ mcp_enabled })}
      />
    </div>
  );
}

function Ways({ access, onChanged }: { access: Access; onChanged: () => void }) {
  const { t } = useTranslation();
  return (
    <>
      {access.url === null && (
        <div className={styles.notice}>
          <Banner tone="warning" title={t("apiAccess.shut")}>
            <Said text={t("apiAccess.shutText", { folder: folderOf(access.token_file) })} />
          </Banner>
        </div>
      )}
      <Row label={t("apiAccess.url")} hint={<Said text={t("apiAccess.urlHint")} />}>
        {access.url === null ? (
          <span className={styles.state}>{t("apiAccess.notServed")}</span>
        ) : (
          <Address url={access.url} copyLabel={t("apiAccess.copyUrl")} />
        )}
      </Row>
      {access.auth ? (
        <Token file={access.token_file} />
      ) : (
        <Row label={t("apiAccess.token")} hint={<Said text={t("apiAccess.noToken")} />} />
      )}
      <McpSwitch access={access} onChanged={onChanged} />
      {access.mcp_url !== null && (
        <Row label={t("apiAccess.mcpUrl")}>
          <Address url={access.mcp_url} copyLabel={t("apiAccess.copyMcpUrl")} />
        </Row>
      )}
      <Clients access={access} />
    </>
  );
}

export function ApiAccess() {
  const { t } = useTranslation();
  const route = useRoute();
  const heading = useRef<HTMLHeadingElement>(null);
  const access = useOp("doors_get", {});
  const isWanted = route.name === "settings" && route.query["part"] === "api";
  const isRead = access.data !== undefined;
  useEffect(() => {
    if (!isWanted || !isRead) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView();
  }, [isWanted, isRead]);
  const read = () => void access.refetch();
  const content = (): ReactNode => {
    if (access.error) {
      return <ErrorState title={t("apiAccess.failed")} error={access.error} onRetry={read} />;
    }
    if (access.data) return <Ways access={access.data} onChanged={read} />;
    return (
      <div className={styles.waiting} aria-busy>
        <SkeletonText lines={6} />
      </div>
    );
  };
  return (
    <Section title={t("apiAccess.title")} headingRef={heading}>
      {content()}
    </Section>
  );
}
