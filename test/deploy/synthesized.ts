import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { App } from 'aws-cdk-lib/core';
import { readSettings } from '../../deploy/aws/settings.ts';
import { TrawlStack } from '../../deploy/aws/stack.ts';

const CDK_JSON = new URL('../../deploy/aws/cdk.json', import.meta.url);

const MADE = new Map<string, Template>();

/** The template that `cdk synth` makes, with `-c name=value` for each of these. Takes a second or two: once per process. */
export function synthesized(context: Readonly<Record<string, string>> = {}): Template {
  const key = JSON.stringify(context);
  const made = MADE.get(key) ?? synthesize(context);
  MADE.set(key, made);
  return made;
}

function synthesize(context: Readonly<Record<string, string>>): Template {
  const flags: Record<string, unknown> = JSON.parse(readFileSync(CDK_JSON, 'utf8')).context;
  const outdir = mkdtempSync(join(tmpdir(), 'trawl-synthesized-'));
  try {
    const app = new App({
      outdir,
      // The files of the images stay where they are: nothing here is deployed.
      context: { ...flags, 'aws:cdk:disable-asset-staging': true, ...context },
      // It takes seconds, and synth.test.ts has it done.
      builtinCloudFormationValidation: false,
    });
    const settings = readSettings((name) => app.node.tryGetContext(name));
    return Template.fromStack(new TrawlStack(app, settings.stackName, { settings }));
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

export interface Resource {
  readonly id: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

export function resourcesOf(template: Template, type: string, properties: unknown = {}): readonly Resource[] {
  return Object.entries(template.findResources(type, { Properties: properties })).map(([id, { Properties }]) => ({
    id,
    Properties,
  }));
}

/** The only one whose id begins like that. */
export function onlyResource(template: Template, type: string, id: string): Resource {
  const found = resourcesOf(template, type).filter((each) => each.id.startsWith(id));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`there are ${found.length} of ${type} that begin with ${id}`);
  }
  return only;
}
