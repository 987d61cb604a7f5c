/** The files that go with the next message, each with a way to leave it out. */
import { File as FileIcon, Image as ImageIcon, Paperclip, X } from "lucide-react";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import { bytes } from "#ui/domain/size.ts";
import { IconButton } from "#ui/components/IconButton.tsx";
import { maxFiles } from "./files.ts";
import type { Attachments } from "./useAttachments.ts";
import { Row } from "#ui/components/Row.tsx";
import styles from "./Files.module.css";

const isPicture = (name: string): boolean => /\.(png|jpe?g|gif|webp|svg|avif|bmp)$/i.test(name);

export function Files({ attachments }: { attachments: Attachments }) {
  const { t } = useTranslation();
  const { files, arriving, remove } = attachments;
  if (files.length + arriving.length === 0) return null;
  return (
    <Row as="ul" wrap gap={2} aria-label={t("conversation.files")}>
      {files.map(({ id, name, bytes: size }) => (
        <li key={id} className={styles.file}>
          {isPicture(name) ? <ImageIcon aria-hidden /> : <FileIcon aria-hidden />}
          <span className={styles.name} title={name}>
            {name}
          </span>
          <span className={styles.size}>{bytes(size)}</span>
          <IconButton
            size="sm"
            className={styles.remove}
            label={t("conversation.removeFile", { name })}
            icon={<X />}
            onClick={() => void remove(id)}
          />
        </li>
      ))}
      {arriving.map((name, index) => (
        <li key={`${index}:${name}`} className={styles.file} aria-busy>
          <FileIcon aria-hidden />
          <span className={styles.name}>{name}</span>
          <span className={styles.size}>{t("conversation.fileArriving")}</span>
        </li>
      ))}
    </Row>
  );
}

/** Opens the system's own dialog. */
export function FileButton({
  attachments,
  disabled,
}: {
  attachments: Attachments;
  disabled: boolean;
}) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const full = attachments.files.length >= maxFiles;
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t("conversation.addFiles")}
        onChange={({ target }) => {
          void attachments.add([...(target.files ?? [])]);
          // The same file may be chosen again.
          target.value = "";
        }}
      />
      <IconButton
        size="sm"
        label={t(full ? "conversation.filesFull" : "conversation.addFiles")}
        icon={<Paperclip />}
        disabled={disabled || full}
        onClick={() => input.current?.click()}
      />
    </>
  );
}
