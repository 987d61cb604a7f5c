/** What each part of the inner loop is and did: on or off and who says so, its last effect, what is open. */
import { Repeat, Settings2 } from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { formatRoute, navigate, useRoute } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { useProjects } from "#ui/app/useProjects.ts";
import { useOp } from "#ui/api/client.ts";
import type { SubsystemStatus } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { placeOf } from "./places.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./InnerLoop.module.css";

function Last({ part, project }: { part: SubsystemStatus; project: string }) {
  const { t } = useTranslation();
  const { last, recorded } = part;
  if (!last) {
    return (
      <span className={layout.faint}>
        {t(recorded ? "innerLoop.never" : "innerLoop.notRecorded")}
      </span>
    );
  }
  return (
    <div className={styles.last}>
      <span className={layout.anywhere}>{last.effect}</span>
      <span className={styles.about}>
        <RelativeTime at={last.at} />
        {last.task && (
          <a
            href={formatRoute(
              "task",
              { project, number: String(last.task.number) },
              placeOf(part.name).tab,
            )}
            className={styles.task}
          >
            #{last.task.number} <bdi>{last.task.title}</bdi>
          </a>
        )}
      </span>
    </div>
  );
}

function Standing({ part }: { part: SubsystemStatus }) {
  const { t } = useTranslation();
  return (
    <div className={styles.state}>
      <Badge tone={part.enabled ? "success" : "neutral"} look={part.enabled ? "soft" : "outline"}>
        {t(part.enabled ? "innerLoop.on" : "innerLoop.off")}
      </Badge>
      <span className={layout.note}>{t(`innerLoop.source.${part.source}`)}</span>
    </div>
  );
}

function Row({ part, project }: { part: SubsystemStatus; project: string }) {
  const { t } = useTranslation();
  const name = t(`innerLoop.part.${part.name}`);
  const open = placeOf(part.name).open(project);
  const count = t("innerLoop.openCount", { count: part.open });
  return (
    <tr data-off={part.enabled ? undefined : true}>
      <th scope="row">
        <a
          href={formatRoute("projectSettings", { project }, { tab: "innerLoop" })}
          className={styles.name}
          data-part
          aria-label={t("innerLoop.settingOf", { name })}
        >
          {name}
        </a>
        <span className={styles.text}>{t(`innerLoop.partText.${part.name}`)}</span>
      </th>
      <td>
        <Standing part={part} />
      </td>
      <td>
        <Last part={part} project={project} />
      </td>
      <td className={styles.open}>
        {!part.recorded ? null : part.open === 0 ? (
          <span className={layout.faint}>{t("innerLoop.nothingOpen")}</span>
        ) : open ? (
          <a href={open}>{count}</a>
        ) : (
          count
        )}
      </td>
    </tr>
  );
}

/** The parts' links, from one to the next. */
function step(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-part]")];
  const at = links.findIndex((link) => link === document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus();
}

function useRowKeys(): void {
  const { t } = useTranslation();
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "innerLoop.next",
        label: t("innerLoop.next"),
        group: t("nav.innerLoop"),
        keys: ["j"],
        run: () => step(1),
      },
      {
        id: "innerLoop.previous",
        label: t("innerLoop.previous"),
        group: t("nav.innerLoop"),
        keys: ["k"],
        run: () => step(-1),
      },
    ],
    [t],
  );
  useCommands(commands);
}

function Parts({ project }: { project: string }) {
  const { t } = useTranslation();
  const status = useOp("inner_loop_status", { project_id: project });
  useRowKeys();
  if (status.error) {
    return (
      <ErrorState
        title={t("innerLoop.failed")}
        error={status.error}
        onRetry={() => void status.refetch()}
      />
    );
  }
  if (!status.data) return <SkeletonText lines={10} />;
  return (
    <div className={layout.surface}>
      <table className={styles.table}>
        <caption className="visually-hidden">{t("innerLoop.caption")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("innerLoop.column.part")}</th>
            <th scope="col">{t("innerLoop.column.state")}</th>
            <th scope="col">{t("innerLoop.column.last")}</th>
            <th scope="col">{t("innerLoop.column.open")}</th>
          </tr>
        </thead>
        <tbody>
          {status.data.items.map((part) => (
            <Row key={part.name} part={part} project={project} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

export default function InnerLoopScreen() {
  const { t } = useTranslation();
  const route = useRoute();
  const id = route.name === "innerLoop" ? route.params.project : "";
  const project = useProjects().find((each) => each.id === id);
  return (
    <Screen
      layout="page"
      title={
        <>
          {t("innerLoop.title")}
          {project && <span className={styles.of}> {project.name}</span>}
        </>
      }
      actions={
        <Button
          size="sm"
          icon={<Settings2 />}
          onClick={() => navigate("projectSettings", { project: id }, { tab: "innerLoop" })}
        >
          {t("innerLoop.configure")}
        </Button>
      }
    >
      {id === "" ? (
        <EmptyState icon={<Repeat />} title={t("nav.noProject")} />
      ) : (
        <Parts project={id} />
      )}
    </Screen>
  );
}
