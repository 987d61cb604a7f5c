import { useTranslation } from "react-i18next";
import { Said } from "#ui/components/Said.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import type { KubernetesForm } from "./kubernetes.ts";
import styles from "./MachinesScreen.module.css";

/** Where the Jobs of a machine are created, and what they ask for. */
export function KubernetesFields({
  form,
  onChange,
  at,
  resourcesError,
  tolerationsError,
}: {
  form: KubernetesForm;
  onChange: (change: Partial<KubernetesForm>) => void;
  /** What is wrong with a field. */
  at: (field: string) => string | undefined;
  resourcesError: string | undefined;
  tolerationsError: string | undefined;
}) {
  const { t } = useTranslation();
  const asDecided = t("machines.slurm.asDecided");
  return (
    <>
      <div className={styles.even}>
        <TextField
          label={t("machines.kubernetes.namespace")}
          value={form.namespace}
          error={at("kubernetes.namespace")}
          onChange={(namespace) => onChange({ namespace })}
        />
        <TextField
          label={t("machines.kubernetes.context")}
          placeholder={t("machines.kubernetes.contextNone")}
          value={form.context}
          error={at("kubernetes.context")}
          onChange={(context) => onChange({ context })}
        />
      </div>
      <TextField
        label={t("machines.kubernetes.image")}
        hint={<Said text={t("machines.kubernetes.imageHint")} />}
        placeholder="registry.example/agent:1"
        mono
        value={form.podImage}
        error={at("kubernetes.image")}
        onChange={(podImage) => onChange({ podImage })}
      />
      <div className={styles.even}>
        <TextField
          label={t("machines.kubernetes.cpu")}
          placeholder={asDecided}
          value={form.podCpu}
          error={at("kubernetes.resources.cpu")}
          onChange={(podCpu) => onChange({ podCpu })}
        />
        <TextField
          label={t("machines.kubernetes.memory")}
          placeholder={asDecided}
          value={form.podMemory}
          error={at("kubernetes.resources.memory")}
          onChange={(podMemory) => onChange({ podMemory })}
        />
      </div>
      <div className={styles.even}>
        <TextArea
          label={t("machines.kubernetes.resources")}
          hint={<Said text={t("machines.kubernetes.resourcesHint")} />}
          mono
          rows={2}
          value={form.resources}
          error={resourcesError}
          onChange={(resources) => onChange({ resources })}
        />
        <TextArea
          label={t("machines.kubernetes.tolerations")}
          hint={<Said text={t("machines.kubernetes.tolerationsHint")} />}
          mono
          rows={2}
          value={form.tolerations}
          error={tolerationsError}
          onChange={(tolerations) => onChange({ tolerations })}
        />
      </div>
      <div className={styles.even}>
        <TextField
          label={t("machines.kubernetes.serviceAccount")}
          placeholder={t("machines.kubernetes.serviceAccountNone")}
          value={form.serviceAccount}
          error={at("kubernetes.service_account")}
          onChange={(serviceAccount) => onChange({ serviceAccount })}
        />
        <TextField
          label={t("machines.kubernetes.kubeconfig")}
          placeholder={t("machines.kubernetes.kubeconfigNone")}
          mono
          value={form.kubeconfig}
          error={at("kubernetes.kubeconfig")}
          onChange={(kubeconfig) => onChange({ kubeconfig })}
        />
      </div>
    </>
  );
}
