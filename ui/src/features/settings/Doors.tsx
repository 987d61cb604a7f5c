/** How other programs reach this Forge: addresses, the switch of MCP, the token, what clients must be told. */
import { useEffect, useRef, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { Doors as AllDoors } from "#ui/api/generated.ts";
import { useRoute } from "#ui/app/router.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Clients } from "./Clients.tsx";
import { folderOf } from "./clients.ts";
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

function McpSwitch({ doors, onChanged }: { doors: AllDoors; onChanged: () => void }) {
  const { t } = useTranslation();
  const update = useOpMutation("doors_update", {
    onSuccess: onChanged,
    onError: ({ message }) =>
      showToast({ tone: "danger", title: t("doors.notSwitched"), detail: message }),
  });
  return (
    <div className={styles.switch}>
      <Switch
        label={t("doors.mcp")}
        hint={<Said text={t(doors.mcp_allowed ? "doors.mcpHint" : "doors.mcpNotAllowed")} />}
        disabled={!doors.mcp_allowed}
        checked={doors.mcp_enabled}
        onChange={(mcp_enabled) => update.mutate({ mcp_enabled })}
      />
    </div>
  );
}

function Ways({ doors, onChanged }: { doors: AllDoors; onChanged: () => void }) {
  const { t } = useTranslation();
  return (
    <>
      {doors.url === null && (
        <div className={styles.notice}>
          <Banner tone="warning" title={t("doors.shut")}>
            <Said text={t("doors.shutText", { folder: folderOf(doors.token_file) })} />
          </Banner>
        </div>
      )}
      <Row label={t("doors.url")} hint={<Said text={t("doors.urlHint")} />}>
        {doors.url === null ? (
          <span className={styles.state}>{t("doors.notServed")}</span>
        ) : (
          <Address url={doors.url} copyLabel={t("doors.copyUrl")} />
        )}
      </Row>
      {doors.auth ? (
        <Token file={doors.token_file} />
      ) : (
        <Row label={t("doors.token")} hint={<Said text={t("doors.noToken")} />} />
      )}
      <McpSwitch doors={doors} onChanged={onChanged} />
      {doors.mcp_url !== null && (
        <Row label={t("doors.mcpUrl")}>
          <Address url={doors.mcp_url} copyLabel={t("doors.copyMcpUrl")} />
        </Row>
      )}
      <Clients doors={doors} />
    </>
  );
}

export function Doors() {
  const { t } = useTranslation();
  const route = useRoute();
  const heading = useRef<HTMLHeadingElement>(null);
  const doors = useOp("doors_get", {});
  const isWanted = route.name === "settings" && route.query["part"] === "doors";
  const isRead = doors.data !== undefined;
  useEffect(() => {
    if (!isWanted || !isRead) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView();
  }, [isWanted, isRead]);
  const read = () => void doors.refetch();
  const content = (): ReactNode => {
    if (doors.error) {
      return <ErrorState title={t("doors.failed")} error={doors.error} onRetry={read} />;
    }
    if (doors.data) return <Ways doors={doors.data} onChanged={read} />;
    return (
      <div className={styles.waiting} aria-busy>
        <SkeletonText lines={6} />
      </div>
    );
  };
  return (
    <Section title={t("doors.title")} headingRef={heading}>
      {content()}
    </Section>
  );
}
