/**
 * Client of taxon, a service that classifies blockchain transactions for tax.
 *
 * Classifications are informational only and are not tax advice.
 */

export { Amount } from "./amount.js";
export type { Progress } from "./batch.js";
export { Taxon, type ClassifyAllOptions, type TaxonOptions } from "./client.js";
export {
  BadAnswer,
  InvalidRequest,
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
  CategoryRow,
  ChainCorrected,
  ChainRow,
  Classification,
  Evidence,
  GreyArea,
  Parent,
  PartnerStatus,
  PoolStatus,
  QuotaStatus,
  Step,
  Treatment,
} from "./generated.js";
export type { ClassifyAllRequest, ClassifyRequest, PolicyChoice } from "./requests.js";
export { RETRY, type Retry } from "./retry.js";
