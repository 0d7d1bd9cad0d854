package socklnd

// NewError lets tests of package socklnd_test make any error of this package.
var NewError = newError
