"""Products of some rows of a sparse matrix with a vector, which threads can do side by side."""

from numba import njit


@njit(cache=True, nogil=True)
def multiply_rows(rows, indptr, indices, data, vector, out):
    """out[i] becomes x_rows[i]·vector.

    Parameters
    ----------
    rows : (n,) int64
    indptr, indices, data : of x (D, V) by rows; data float64
    vector : (V,) float64
    out : (n,) float64, overwritten
    """
    for i in range(len(rows)):
        total = 0.0
        for entry in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += data[entry] * vector[indices[entry]]
        out[i] = total


@njit(cache=True, nogil=True)
def add_rows(rows, indptr, indices, data, weight, out):
    """out += sum_i weight[i] x_rows[i], (V,) float64; the others as in `multiply_rows`."""
    for i in range(len(rows)):
        for entry in range(indptr[rows[i]], indptr[rows[i] + 1]):
            out[indices[entry]] += weight[i] * data[entry]
