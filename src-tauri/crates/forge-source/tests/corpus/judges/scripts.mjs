// Node as the judge. Reads a JSON list of questions, writes the list of answers.
//   {ask: "syntax", kind: "module" | "commonjs", text}      does it compile?
//   {ask: "names", file, names, text?}                      can an ES module import these names from it?
//   {ask: "require", file, names, text?}                    does `require` give an object with these names?
// `text` stands in for what the file holds. Nothing of an ES module is run but what it takes from packages.
import fs from 'node:fs'
import Module, { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import vm from 'node:vm'

function compiles({ kind, text }) {
  try {
    if (kind === 'module') new vm.SourceTextModule(text)
    else vm.compileFunction(text.replace(/^#!.*/, ''), ['exports', 'require', 'module', '__filename', '__dirname'])
    return true
  } catch (error) {
    if (error instanceof SyntaxError || error.name === 'SyntaxError') return false
    throw error
  }
}

const packages = new Map()
async function outside(specifier, parent) {
  const url = import.meta.resolve(specifier, pathToFileURL(parent).href)
  if (!packages.has(url)) packages.set(url, Object.keys(await import(url)))
  return new vm.SyntheticModule(packages.get(url), () => {})
}

async function links({ file, names, text }) {
  const modules = new Map()
  const load = (at) => {
    if (!modules.has(at)) {
      const source = at === file && text !== undefined ? text : fs.readFileSync(at, 'utf8')
      modules.set(at, new vm.SourceTextModule(source, { identifier: at }))
    }
    return modules.get(at)
  }
  const link = (specifier, { identifier }) =>
    specifier.startsWith('.') ? load(path.resolve(path.dirname(identifier), specifier)) : outside(specifier, identifier)
  const list = names.map((name, at) => `${JSON.stringify(name)} as n${at}`).join(', ')
  const asker = new vm.SourceTextModule(`import { ${list} } from ${JSON.stringify('./' + path.basename(file))}`, {
    identifier: path.join(path.dirname(file), 'asker.mjs'),
  })
  try {
    await asker.link(link)
    return true
  } catch (error) {
    if (error.name === 'SyntaxError') return false
    return `not judged: ${error.message}`
  }
}

function required({ file, names, text }) {
  try {
    let exports
    if (text === undefined) exports = createRequire(file)(file)
    else {
      const module = new Module(file)
      module.filename = file
      module.paths = Module._nodeModulePaths(path.dirname(file))
      module._compile(text, file)
      exports = module.exports
    }
    // `null` and `undefined` have nothing; `Object` would make an object of them.
    return exports != null && names.every((name) => name in Object(exports))
  } catch (error) {
    return text === undefined ? `not judged: ${error.message}` : false
  }
}

const answers = []
for (const question of JSON.parse(fs.readFileSync(0, 'utf8'))) {
  if (question.ask === 'syntax') answers.push(compiles(question))
  else if (question.ask === 'names') answers.push(await links(question))
  else answers.push(required(question))
}
fs.writeSync(1, JSON.stringify(answers))
process.exit(0)
