"""What stores refuse, in an operator's words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore import exceptions

from shopwindow.problems import Failure

CREDENTIALS_NEEDED = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (az: AZURE_STORAGE_ACCOUNT_NAME and "
    "AZURE_STORAGE_ACCOUNT_KEY; gs: GOOGLE_APPLICATION_CREDENTIALS)"
)

OVERLOADED = r"5\d\d (?:Service Unavailable|Internal|Bad Gateway|Gateway)|SlowDown"

_STORE_REFUSALS = (
    (r"NoSuchBucket|ContainerNotFound|InvalidBucketName|bucket does not exist",
     "there is no such bucket; create it, or correct the target's address"),
    (r"RequestTimeTooSkewed|RequestExpired|x-ms-date|date header too old",
     "the store's clock and this machine's differ too much; set this machine's clock"),
    (r"InvalidAccessKeyId|SignatureDoesNotMatch|InvalidAuthenticationInfo|ExpiredToken|InvalidToken",
     f"the store does not accept the credentials; {CREDENTIALS_NEEDED}"),
    (r"169\.254\.|metadata\.google|MissingCredential|Missing(?: access)? key|"
     r"must be specified|invalid_grant",
     f"there are no credentials; {CREDENTIALS_NEEDED}"),
    (r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint",
     "the bucket is in another region; set AWS_REGION to it"),
    (r"AccessDenied|AuthorizationFailure|AuthorizationPermissionMismatch|403 Forbidden",
     "the credentials do not permit it; a publisher lists, reads and writes, `--prune` deletes, "
     "and a host that pulls lists and reads"),
    (r"AuthenticationFailed|401 Unauthorized",
     f"the store does not accept the credentials; {CREDENTIALS_NEEDED}"),
    (r"kind: Connect|dns error|kind: Timeout|operation timed out|error sending request",
     "the store is not reached; look at AWS_ENDPOINT_URL (az: AZURE_STORAGE_ENDPOINT) and at "
     "the network"),
    (OVERLOADED,
     "the store is overloaded or out of order; run it again later"),
    (r"NotImplemented|501 Not Implemented",
     "the store cannot do conditional writes, and without them two publishers overwrite "
     "each other; use one that can"),
)  # fmt: skip
"""Pattern of an answer → what is wrong and what to do. The first that fits counts."""


@contextmanager
def refused(where: str, verb: str) -> Iterator[None]:
    """Raise a Failure in an operator's words where a store refuses something.

    ``verb`` completes "cannot …".
    """
    try:
        yield
    except (exceptions.BaseError, FileNotFoundError, ValueError) as error:
        text = str(error)
        for pattern, meaning in _STORE_REFUSALS:
            if re.search(pattern, text):
                raise Failure(f"{where}: cannot {verb} it: {meaning}") from None
        first = text.partition("\n\nDebug source")[0]
        line = " ".join(re.sub(r"<[^>]*>", " ", first).split())
        raise Failure(f"{where}: cannot {verb} it: {line[:300]}") from None


def require_bucket(error: Exception) -> None:
    """Raise the error again where it is the bucket that does not exist."""
    if re.search(_STORE_REFUSALS[0][0], str(error)):
        raise error
