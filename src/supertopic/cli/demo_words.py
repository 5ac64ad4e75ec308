"""Words that occur in docstrings on any subject, and the names of the packages: the demo leaves them out."""

DOCSTRING_WORDS = """
    accept accepts achieved allowed api applied apply arg argmax args argument arguments array array_like
    arrayapi arrays attribute attributes auto available axes axis backend backends behavior bool broadcast
    broadcastable callable capabilities capability case cases casting class classes code combinations
    compatible computation compute computed computes computing condition contain containing contains
    convenience convert copy corresponding cpu created cupy current dask data default defaults deprecated
    details determine dev device dict dimension dimensional dimensions discussion documentation doi dtype
    dtypes element elements ensure environment equal equivalent estimator estimators example examples
    expected experimental false features fit fits flag float float32 float64 following form func function
    functions future general given gpu guide handling http https implementation implemented implements
    include included including indicates info information input inputs instance instead int int64 integer
    integers iterable jax jit just keyword kwargs large length like list locations main math means
    metadata method methods mode module modulename multiple n_features n_samples named names nan ndarray
    need needed new non nonlinear note notes np num number numbers numpy object objects obtained option
    optional options org original otherwise output outputs pandas parameter parameters params pass passed
    performed performs possible pp provide provided provides python pytorch raise raised raises read ref
    reference references representing represents request requested required respectively result results
    return returned returning returns routing row rows same same_kind sample_weight scalar scikit scipy
    scipy_array_api second section self sequence set sets setting shape shaped signature similar simple
    single size sklearn specific specified specifies specify standard step stored str string subclass
    subok supplied support supported supports taken takes term testing times torch true tuple type types
    typically ufunc unchanged unicode uninitialized updated use used useful user user_guide uses using
    valid value values variable version versionadded versionchanged vol want warning way weights wide wise
    work works www x0 x1 x2 xp zero zeros
"""
