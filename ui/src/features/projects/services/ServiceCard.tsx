import { useTranslation } from "react-i18next";
import { Badge } from "#ui/components/Badge.tsx";
import { OrderedItem, type OrderedItemProps } from "#ui/components/OrderedItem.tsx";
import { findingsIn } from "#ui/draft/findings.ts";
import { formatPath } from "#ui/draft/path.ts";
import { problemsIn } from "./form.ts";
import { ServiceFields, type ServiceFieldsProps } from "./ServiceFields.tsx";
import { settingsKey } from "./useServicesDraft.ts";
import styles from "./services.module.css";

type Order = "count" | "isOpen" | "onOpen" | "onMove" | "onDuplicate" | "onRemove";

export interface ServiceCardProps extends ServiceFieldsProps, Pick<OrderedItemProps, Order> {
  /** `.forge.json` names a service of the same name, which this one replaces. */
  readonly replaces: boolean;
}

/** One service: a line, and behind it its fields. */
export function ServiceCard({ form, findings, set, replaces, ...order }: ServiceCardProps) {
  const { t } = useTranslation();
  const place = formatPath([settingsKey, order.index]);
  const name = form.name.trim() || t("serviceSettings.unnamed");
  return (
    <OrderedItem
      {...order}
      line={
        <>
          <span className={styles.name}>{name}</span>
          <code className={styles.command}>{form.command}</code>
          {form.start === "on_review" && (
            <Badge look="outline">{t("serviceSettings.onReview")}</Badge>
          )}
          {replaces && <Badge look="outline">{t("serviceSettings.replaces")}</Badge>}
        </>
      }
      problems={findingsIn(findings, place).length + problemsIn(form)}
      labels={{
        up: t("serviceSettings.up", { name }),
        down: t("serviceSettings.down", { name }),
        duplicate: t("serviceSettings.duplicate", { name }),
        remove: t("serviceSettings.remove", { name }),
      }}
    >
      <ServiceFields index={order.index} form={form} findings={findings} set={set} />
    </OrderedItem>
  );
}
