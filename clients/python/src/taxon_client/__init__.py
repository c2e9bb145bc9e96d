"""Client of taxon, a service that classifies blockchain transactions for tax.

Classifications are informational only and are not tax advice.
"""

from ._generated import (
    Alternate,
    AssetLeg,
    Assets,
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
    Step,
    Treatment,
)
from .amount import Amount
from .client import Taxon
from .errors import (
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
)
from .requests import AnyItem, Item, PolicyChoice
from .retry import Retry

__all__ = [
    "Alternate",
    "Amount",
    "AnyItem",
    "AssetLeg",
    "Assets",
    "BadAnswer",
    "BlockTime",
    "CategoryRow",
    "ChainCorrected",
    "ChainRow",
    "Classification",
    "Evidence",
    "GreyArea",
    "InvalidRequest",
    "Item",
    "NotFound",
    "NotYetMined",
    "Parent",
    "PartnerStatus",
    "PolicyChoice",
    "PoolStatus",
    "QuotaExceeded",
    "RateLimited",
    "Retry",
    "ServiceFailed",
    "Step",
    "Taxon",
    "TaxonError",
    "Treatment",
    "Unauthorized",
    "Unreachable",
    "UpstreamFailed",
]
