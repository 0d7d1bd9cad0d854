package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// sizeValue is a flag: a number of bytes, or one of KiB, MiB or GiB such as
// 64K, 4M, 1G.
type sizeValue uint64

func (s *sizeValue) String() string {
	n := uint64(*s)
	for _, u := range sizeUnits {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatUint(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatUint(n, 10)
}

func (s *sizeValue) Type() string { return "BYTES" }

func (s *sizeValue) Set(text string) error {
	number, unit := text, uint64(1)
	for _, u := range sizeUnits {
		if cut, ok := strings.CutSuffix(strings.ToUpper(text), u.name); ok {
			number, unit = cut, u.bytes
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n > math.MaxUint64/unit {
		return errors.New("want a number of bytes such as 4096, 64K or 4M")
	}
	*s = sizeValue(n * unit)
	return nil
}

var sizeUnits = []struct {
	name  string
	bytes uint64
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}
