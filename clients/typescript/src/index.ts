/**
 * Client of taxon, a service that classifies blockchain transactions for tax.
 *
 * Classifications are informational only and are not tax advice.
 */

export { Amount } from "./amount.js";
export type { Progress } from "./batch.js";
export { Taxon, type ClassifyAllOptions, type CreateJobOptions, type TaxonOptions, type WaitOptions } from "./client.js";
export {
  BadAnswer,
  InvalidRequest,
  JobError,
  JobFailed,
  JobUnfinished,
  NotFound,
  NotYetMined,
  QuotaExceeded,
  RateLimited,
  ServiceFailed,
  TaxonError,
  Unauthorized,
  Unreachable,
  UpstreamFailed,
} from "./errors.js";
export type {
  Alternate,
  AssetLeg,
  Assets,
  BatchItem,
  BlockTime,
  BookName,
  CategoryRow,
  ChainCorrected,
  ChainRow,
  Chart,
  Classification,
  Evidence,
  GreyArea,
  JournalAnswer,
  JournalLine,
  JournalPrice,
  JournalRequest,
  Parent,
  PartnerStatus,
  PoolStatus,
  QuotaStatus,
  Step,
  Treatment,
} from "./generated.js";
export type {
  ClassifyAllRequest,
  ClassifyRequest,
  Job,
  JobRequest,
  PolicyChoice,
  Table,
  WalletsJobRequest,
} from "./requests.js";
export { RETRY, type Retry } from "./retry.js";
