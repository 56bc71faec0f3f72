/** Names of the generated types of the HTTP API's answers (`schema.d.ts`, from the OpenAPI document). */
import type { Readable } from 'openapi-typescript-helpers';

import type { components } from './schema';

/** Types as `api` returns them. */
type Schemas = { [Name in keyof components['schemas']]: Readable<components['schemas'][Name]> };

export type About = Schemas['About'];
export type Metric = Schemas['MetricInfo'];
export type MetricName = Schemas['MetricName'];
export type Fault = Schemas['Fault'];

export type Trial = Schemas['TrialRow'];
export type TrialPage = Schemas['TrialPage'];
export type TrialDetail = Schemas['TrialDetail'];
export type Sibling = Schemas['RunMember'];
export type JobMetrics = Schemas['JobJson'];
export type JobDetail = Schemas['ShownJobJson'];
export type CriterionResult = Schemas['Judgement'];
export type Measured = Schemas['MeasuredJson'];
export type EngineHost = Schemas['TrialHostJson'];
export type HostCounter = Schemas['HostCounterJson'];
export type Engine = Schemas['EngineFacts'];
export type Facts = NonNullable<TrialDetail['machine']>;
export type PortMapPage = Schemas['PortMapPage'];
export type TablePage = Schemas['RecordPage'];
export type TableRow = TablePage['rows'][number];
export type Cell = TableRow[string];
export type Column = Schemas['RecordColumn'];
export type Choices = Schemas['TrialChoices'];
export type SavedView = Schemas['SavedView'];
export type RunListRow = Schemas['RunListRow'];
export type Imported = Schemas['Imported'];

export type Finding = Schemas['FindingJson'];
export type Remedy = Schemas['RemedyJson'];
export type FabricInsight = Schemas['FabricJson'];
export type Uplinks = Schemas['UplinksJson'];
export type PriorityPauses = Schemas['PriorityPauses'];

export type Run = Schemas['Run'];
export type RunState = Run['state'];
export type RunDetail = Schemas['RunDetail'];
export type RunTrial = Schemas['RunTrial'];
export type SearchedCase = Schemas['SearchedCase'];
export type Progress = Schemas['RunProgress'];
export type Samples = Schemas['RunSamples'];
export type Sample = Schemas['SamplePoint'];
export type TrialStarted = Schemas['TrialStarted'];
export type ResultsOfRun = Schemas['ResultsOfRun'];
export type RunResult = Schemas['RunResult'];
export type Labelled = Schemas['LabelledRunResult'];
export type RunMap = Schemas['RunMap'];
export type RunMapCell = Schemas['MapCell'];

export type FigureName = Schemas['FigureInfo'];
export type FigureSection = Schemas['FigureSection'];
export type MetricFigure = Schemas['MetricFigure'];

export type Comparison = Schemas['ComparisonJson'];
export type ComparedJob = Schemas['ComparedJobJson'];
export type ComparedTrial = Schemas['ComparedTrialJson'];
export type ComparedMetric = Schemas['ComparedMetricJson'];
export type Twins = Schemas['TwinsJson'];
export type Twin = Schemas['TwinJson'];
export type TwinSide = Schemas['TwinSideJson'];

export type Checked = Schemas['Checked'];
export type FabricMap = Schemas['FabricMap'];
export type MapBox = Schemas['MapBox'];
export type ShippedPlan = Schemas['ShippedPlan'];
export type GalleryPlan = Schemas['GalleryPlan'];
export type PlanChoices = Schemas['PlanChoices'];
export type MadePlan = Schemas['MadePlan'];
export type HostsFile = Schemas['HostsFileState'];
export type HostState = Schemas['HostState'];
export type HostCheck = Schemas['HostCheck'];

export type Campaign = Schemas['CampaignProgress'];
export type CampaignDetail = Schemas['CampaignDetail'];
export type CampaignAnalysis = Schemas['CampaignAnalysis'];
export type CampaignEffect = Schemas['EffectJson'];
export type CampaignSetting = Schemas['CampaignSetting'];
export type CampaignPareto = Schemas['CampaignPareto'];

export type PublishedPlan = Schemas['PublishedPlan'];
export type PublishedMetric = Schemas['PublishedMetricJson'];
export type ClusterChoices = Schemas['ClusterChoices'];
export type ExpectedCurve = Schemas['ExpectedCurve'];
export type ExpectedRow = Schemas['ExpectedRowJson'];
export type Given = Omit<Schemas['ToExplain'], 'files'>;
export type Explained = Schemas['Explained'];
export type LikelyCause = Schemas['LikelyCause'];
export type ResultTable = Schemas['ResultTable'];

/** A figure to draw; one that the browser makes has no more than data and layout. */
export type Figure = Pick<Schemas['TrialFigure'], 'data' | 'layout'> &
  Partial<Pick<Schemas['TrialFigure'], 'caption' | 'unit_ps' | 'end_ps'>>;
