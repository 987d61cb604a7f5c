/**
 * All visible text comes from a catalogue. English is complete and the fallback; another
 * language is one more JSON file of the same shape.
 */
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import en from "./en.json";

export const defaultNS = "forge";
export const resources = { en: { forge: en } } as const;

void i18next.use(initReactI18next).init({
  lng: "en",
  fallbackLng: "en",
  defaultNS,
  resources,
  initAsync: false,
  interpolation: { escapeValue: false },
  returnNull: false,
});

export { i18next };
export const t = i18next.t.bind(i18next);
