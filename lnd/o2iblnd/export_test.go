package o2iblnd

// NewError lets tests of package o2iblnd_test make any error of this package.
var NewError = newError
