package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// sameValue reports whether two texts are the same value of a key, such as 1s and 1000ms. The default
// of the key says what its values are: numbers, times, yes or no, or texts, which are compared as
// they stand.
func sameValue(key, a, b string) bool {
	if a == b {
		return true
	}
	all := defaults()
	i := slices.IndexFunc(all, func(s Source) bool { return s.Key == key })
	if i < 0 {
		return false
	}
	usual := all[i].Value
	return same(asNumber, usual, a, b) || same(time.ParseDuration, usual, a, b) || same(asFlag, usual, a, b)
}

// same reports whether parse accepts all three texts, and a and b have the same value.
func same[T comparable](parse func(string) (T, error), usual, a, b string) bool {
	_, err := parse(usual)
	x, first := parse(a)
	y, second := parse(b)
	return err == nil && first == nil && second == nil && x == y
}

// asNumber parses an integer. It refuses one with a leading 0, whose value differs between versions
// of YAML.
func asNumber(s string) (int64, error) {
	if digits := strings.TrimLeft(s, "+-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 0, 64)
}

// asFlag parses what the function onOff accepts.
func asFlag(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	}
	return false, strconv.ErrSyntax
}
