import { App } from 'aws-cdk-lib/core';
import { readSettings } from './settings.ts';
import { TrawlStack } from './stack.ts';

/** What `cdk` runs. Account and region are those of the deploying user: nothing is looked up in either. */
const app = new App();
const settings = readSettings((name) => app.node.tryGetContext(name));
new TrawlStack(app, settings.stackName, { settings, description: 'Trawl: bulk web scraping that finishes' });
