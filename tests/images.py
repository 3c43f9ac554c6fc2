"""Files of images for the tests."""

import numpy as np
from numpy.typing import NDArray


def idx_file(array: NDArray[np.uint8]) -> bytes:
    """Return an IDX file."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def cifar_binary_file(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> bytes:
    """Return a binary batch of CIFAR-10 with images [sample, feature]."""
    return np.concatenate([labels[:, None], images], axis=1).tobytes()
