package main

import (
	"strconv"
	"strings"

	"ulnet/lnet/selftest/wire"
)

// Sizes in bytes.
const (
	usualSize = 4096    // size of the data of an RPC if the command line gives none
	largest   = 1 << 20 // largest size of the data of an RPC
	page      = 4096    // size of a page
	grain     = 8       // size of the words in which kernel nodes fill and check data
)

// brwParams returns the parameters of a BRW test, which the words of a command line say in any
// order: read or write, check=, size= and off=. Its errors have the texts of Lustre's tool. In
// addition it refuses parameters with which kernel nodes crash (selftest §14).
func brwParams(words []string) (wire.BRWParams, error) {
	p := wire.BRWParams{Op: wire.Read, Check: wire.CheckNone, Length: usualSize}
	size, offset := strconv.Itoa(usualSize), "0"
	for _, word := range words {
		name, value, assigns := strings.Cut(word, "=")
		var err error
		switch name = strings.ToLower(name); {
		case !assigns && (name == "read" || name == "r"):
			p.Op = wire.Read
		case !assigns && (name == "write" || name == "w"):
			p.Op = wire.Write
		case assigns && (name == "check" || name == "c"):
			p.Check, err = checkOf(value)
		case assigns && (name == "size" || name == "s"):
			size = value
			p.Length, err = sizeOf(value)
		case assigns && name == "off":
			offset = value
			p.Offset, err = offsetOf(value)
		default:
			err = failf("Unknow parameter: %s", word)
		}
		if err != nil {
			return p, err
		}
	}
	return p, crashes(p, size, offset)
}

func checkOf(value string) (wire.Check, error) {
	switch strings.ToLower(value) {
	case "full":
		return wire.CheckFull, nil
	case "simple":
		return wire.CheckSimple, nil
	}
	return 0, failf("Unknow flag %s", value)
}

func sizeOf(value string) (uint32, error) {
	n, rest, ok := cNumber(value)
	switch strings.ToLower(rest) {
	case "":
	case "k":
		n *= 1 << 10
	case "m":
		n *= 1 << 20
	default:
		ok = false
	}
	switch {
	case !ok || n <= 0:
		return 0, failf("Invalid size %s", value)
	case n > largest:
		return 0, failf("Size exceed limitation: %d bytes", n)
	}
	return uint32(n), nil
}

func offsetOf(value string) (uint32, error) {
	n, rest, ok := cNumber(value)
	if !ok || rest != "" || n < 0 || n%grain != 0 {
		return 0, failf("Invalid offset %s", value)
	}
	return uint32(n), nil
}

// crashes refuses parameters by which kernel nodes crash: a length that is no multiple of 8, and
// data that need more pages because of their offset.
func crashes(p wire.BRWParams, size, offset string) error {
	pages := func(n uint32) uint32 { return (n + page - 1) / page }
	switch {
	case p.Length%grain != 0:
		return failf("Invalid size %s: kernel nodes crash unless it is a multiple of %d", size, grain)
	case pages(p.Offset%page+p.Length) > pages(p.Length):
		return failf("Invalid offset %s: kernel nodes crash if data of this size need another page because of it", offset)
	}
	return nil
}

// cNumber parses a number as C does: decimal, octal after 0, or hexadecimal after 0x. It returns
// what follows the digits. A number that does not fit 31 bits becomes the largest that does.
func cNumber(text string) (n int64, rest string, ok bool) {
	digits, base, negative := text, 10, strings.HasPrefix(text, "-")
	digits = strings.TrimPrefix(strings.TrimPrefix(digits, "-"), "+")
	if negative && strings.HasPrefix(text[1:], "+") {
		return 0, text, false
	}
	switch lower := strings.ToLower(digits); {
	case strings.HasPrefix(lower, "0x"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(lower, "0"):
		base = 8
	}
	end := 0
	for end < len(digits) && isDigit(digits[end], base) {
		end++
	}
	const most = 1<<31 - 1
	n, err := strconv.ParseInt(digits[:end], base, 32)
	if err != nil && end > 0 {
		n = most
	}
	if negative {
		n = -n
	}
	return n, digits[end:], end > 0
}

func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(rune(c)), base, 8)
	return err == nil
}
