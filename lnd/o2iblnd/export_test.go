package o2iblnd

// NewError lets tests that see this package as programs do make any of its errors.
var NewError = newError
