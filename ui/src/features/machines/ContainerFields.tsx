import { useTranslation } from "react-i18next";
import type { ContainerEngine, ContainerNetwork } from "#ui/api/generated.ts";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Said } from "#ui/components/Said.tsx";
import { Select } from "#ui/components/Select.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import type { ContainerForm, ImageFrom } from "./container.ts";
import styles from "./MachinesScreen.module.css";

const froms: readonly ImageFrom[] = ["image", "containerfile", "devcontainer"];
const engines: readonly ContainerEngine[] = ["auto", "podman", "docker"];
const networks: readonly ContainerNetwork[] = ["default", "host", "none"];

/** How the containers of a machine are made. */
export function ContainerFields({
  form,
  onChange,
  at,
  mountsError,
}: {
  form: ContainerForm;
  onChange: (change: Partial<ContainerForm>) => void;
  /** What is wrong with a field. */
  at: (field: string) => string | undefined;
  mountsError: string | undefined;
}) {
  const { t } = useTranslation();
  return (
    <>
      <div className={styles.source}>
        <Select<ImageFrom>
          label={t("machines.container.from")}
          value={form.from}
          options={froms.map((value) => ({ value, label: t(`machines.container.${value}`) }))}
          onChange={(from) => onChange({ from })}
        />
        <TextField
          label={t(`machines.container.sourceOf.${form.from}`)}
          placeholder={t(`machines.container.hintOf.${form.from}`)}
          mono
          value={form.source}
          error={at(`container.${form.from}`) ?? at("container.image")}
          onChange={(source) => onChange({ source })}
        />
      </div>
      <div className={styles.even}>
        <Select<ContainerEngine>
          label={t("machines.container.engine")}
          value={form.engine}
          options={engines.map((value) => ({
            value,
            label: t(`machines.container.engineOf.${value}`),
          }))}
          error={at("container.engine")}
          onChange={(engine) => onChange({ engine })}
        />
        <Select<ContainerNetwork>
          label={t("machines.container.network")}
          value={form.network}
          options={networks.map((value) => ({
            value,
            label: t(`machines.container.networkOf.${value}`),
          }))}
          error={at("container.network")}
          onChange={(network) => onChange({ network })}
        />
      </div>
      <div className={styles.thirds}>
        <NumberField
          label={t("machines.container.memory")}
          placeholder={t("machines.noLimit")}
          value={form.memory}
          error={at("container.memory_mb")}
          onChange={(memory) => onChange({ memory })}
        />
        <TextField
          label={t("machines.container.cpus")}
          placeholder={t("machines.noLimit")}
          inputMode="decimal"
          value={form.cpus}
          error={at("container.cpus")}
          onChange={(cpus) => onChange({ cpus: cpus.replaceAll(/[^\d.]/g, "") })}
        />
        <NumberField
          label={t("machines.container.pids")}
          placeholder={t("machines.noLimit")}
          value={form.pids}
          error={at("container.pids")}
          onChange={(pids) => onChange({ pids })}
        />
      </div>
      <TextArea
        label={t("machines.container.mounts")}
        hint={<Said text={t("machines.container.mountsHint")} />}
        mono
        rows={2}
        value={form.mounts}
        error={mountsError}
        onChange={(mounts) => onChange({ mounts })}
      />
      <TextField
        label={t("machines.container.user")}
        placeholder={t("machines.container.userHint")}
        mono
        value={form.containerUser}
        error={at("container.user")}
        onChange={(containerUser) => onChange({ containerUser })}
      />
    </>
  );
}
