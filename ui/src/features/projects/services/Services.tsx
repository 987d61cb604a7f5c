/** The services that a project names: its own, in order, and those that `.forge.json` adds. */
import { Plus } from "lucide-react";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { RepositoryConfig, ServiceDefinition } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ChangedElsewhere } from "#ui/components/ChangedElsewhere.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { SaveBar } from "#ui/components/SaveBar.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { findingsIn, sentence } from "#ui/draft/findings.ts";
import { formatPath, moved } from "#ui/draft/path.ts";
import { useDraftKeys } from "#ui/draft/useDraftKeys.ts";
import { useLeaveNotice } from "#ui/draft/useLeaveNotice.ts";
import layout from "#ui/components/layout.module.css";
import { BrokenFile } from "../BrokenFile.tsx";
import settings from "../settings.module.css";
import { useSettings } from "../settingsContext.ts";
import { canBeSaved, emptyService, formOf, freeName, maxServices } from "./form.ts";
import { ServiceCard } from "./ServiceCard.tsx";
import { ServiceOffers } from "./ServiceOffers.tsx";
import styles from "./services.module.css";
import { draftKey, settingsKey, useServicesDraft, type ServicesDraft } from "./useServicesDraft.ts";

/** A service of `.forge.json` that the project has not replaced. */
function FromRepository({
  service,
  onReplace,
}: {
  service: ServiceDefinition;
  onReplace: (() => void) | null;
}) {
  const { t } = useTranslation();
  const { name, command, start } = service;
  return (
    <li className={styles.fromFile}>
      <div className={styles.fileHead}>
        <span className={styles.name}>{name}</span>
        <code className={styles.command}>{command}</code>
        {start === "on_review" && <Badge look="outline">{t("serviceSettings.onReview")}</Badge>}
        <Badge look="outline">{t("projectSettings.isRepository")}</Badge>
        <Button
          size="sm"
          variant="ghost"
          disabled={onReplace === null}
          aria-label={t("serviceSettings.overrideOf", { name })}
          onClick={() => onReplace?.()}
        >
          {t("serviceSettings.override")}
        </Button>
      </div>
    </li>
  );
}

/** What the engine found that no open or closed card can show. */
function Rest({ draft: { findings, forms } }: { draft: ServicesDraft }) {
  const atCards = new Set(
    forms.flatMap((_, index) => findingsIn(findings, formatPath([settingsKey, index]))),
  );
  const rest = findings.filter((finding) => !atCards.has(finding));
  return rest.map(({ path, message }) => (
    <p key={path + message} className={layout.error}>
      {path !== settingsKey && <code>{path}</code>} {sentence(message)}
    </p>
  ));
}

/** Leads to the first field that the engine refused, once for each refusal. */
function useLead(draft: ServicesDraft, onOpen: (index: number) => void) {
  const { error } = useSettings();
  const body = useRef<HTMLFormElement>(null);
  const seen = useRef(error);
  const first = draft.forms.findIndex(
    (_, index) => findingsIn(draft.findings, formatPath([settingsKey, index])).length > 0,
  );
  useEffect(() => {
    if (error === seen.current) return;
    seen.current = error;
    if (!error || first < 0) return;
    onOpen(first);
    requestAnimationFrame(() => {
      const field = body.current?.querySelector<HTMLElement>("[aria-invalid='true']");
      field?.scrollIntoView({ block: "center" });
      field?.focus({ preventScroll: true });
    });
  }, [error, first, onOpen]);
  return body;
}

function List({
  projectId,
  draft,
  repository,
}: {
  projectId: string;
  draft: ServicesDraft;
  repository: readonly ServiceDefinition[];
}) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<number | null>(null);
  const body = useLead(draft, setOpen);
  const adder = useRef<HTMLButtonElement>(null);
  const { forms, findings, edit, isChanged } = draft;
  const names = forms.map(({ name }) => name.trim());
  const inFile = repository.map(({ name }) => name);
  const fromFile = repository.filter(({ name }) => !names.includes(name));
  const isFull = forms.length >= maxServices;
  const add = (at: number, form: typeof emptyService) => {
    edit([...forms.slice(0, at), form, ...forms.slice(at)]);
    setOpen(at);
  };
  const choice = useRef<HTMLButtonElement>(null);
  const save = () => {
    if (draft.isStale) choice.current?.focus();
    else if (isChanged && canBeSaved(forms)) draft.save();
  };
  const onKeyDown = useDraftKeys({ key: draftKey(projectId), save });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save();
  };
  return (
    // Keys of the draft, whatever of it has the focus.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form ref={body} className={styles.list} onSubmit={submit} onKeyDown={onKeyDown}>
      <p className={layout.note}>{t("serviceSettings.about")}</p>
      {draft.isStale && (
        <ChangedElsewhere
          ref={choice}
          title={t("serviceSettings.changedElsewhere")}
          onKeep={draft.keep}
          onTake={draft.discard}
        />
      )}
      {forms.length + fromFile.length === 0 ? (
        <p className={layout.soft}>{t("serviceSettings.none")}</p>
      ) : (
        <ol className={layout.surface}>
          {forms.map((form, index) => (
            <ServiceCard
              key={index}
              index={index}
              form={form}
              findings={findings}
              count={forms.length}
              replaces={inFile.includes(form.name.trim())}
              isOpen={open === index}
              onOpen={(wanted) => setOpen(wanted ? index : null)}
              set={(change) =>
                edit(
                  forms.map((each, at) => (at === index ? { ...each, ...change } : each)),
                  `${index}.${Object.keys(change).join()}`,
                )
              }
              onMove={(to) => {
                edit(moved(forms, index, to));
                setOpen(open === index ? to : open === to ? index : open);
              }}
              onDuplicate={
                isFull
                  ? null
                  : () =>
                      add(index + 1, {
                        ...form,
                        name: form.name.trim() && freeName(form.name.trim(), [...names, ...inFile]),
                      })
              }
              onRemove={() => {
                edit(forms.filter((_, at) => at !== index));
                setOpen(null);
                adder.current?.focus();
              }}
            />
          ))}
          {fromFile.map((service) => (
            <FromRepository
              key={service.name}
              service={service}
              onReplace={isFull ? null : () => add(forms.length, formOf(service))}
            />
          ))}
        </ol>
      )}
      <Rest draft={draft} />
      {isFull && <p className={layout.note}>{t("serviceSettings.full", { count: maxServices })}</p>}
      <div className={settings.buttons}>
        <Button
          ref={adder}
          size="sm"
          variant="ghost"
          flush
          icon={<Plus />}
          disabled={isFull}
          focusableWhenDisabled
          onClick={() => add(forms.length, emptyService)}
        >
          {t("serviceSettings.add")}
        </Button>
      </div>
      {isChanged && (
        <SaveBar
          busy={draft.isSaving}
          isWrong={!canBeSaved(forms)}
          onSave={save}
          onDiscard={draft.discard}
        />
      )}
    </form>
  );
}

function Loaded({ projectId, read }: { projectId: string; read: RepositoryConfig | null }) {
  const draft = useServicesDraft(projectId);
  useLeaveNotice(draftKey(projectId), "serviceSettings.kept");
  if (!draft) return <SkeletonText lines={6} />;
  const repository = read?.services ?? [];
  return (
    <Stack gap={4}>
      <ServiceOffers projectId={projectId} isChanged={draft.isChanged} />
      {read && <BrokenFile read={read} />}
      <List projectId={projectId} draft={draft} repository={repository} />
    </Stack>
  );
}

export function Services({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const read = useOp("project_inner_loop", { project_id: projectId });
  if (read.error) {
    return (
      <ErrorState
        title={t("serviceSettings.failed")}
        error={read.error}
        onRetry={() => void read.refetch()}
      />
    );
  }
  if (!read.data) return <SkeletonText lines={6} />;
  return <Loaded projectId={projectId} read={read.data.repository} />;
}
