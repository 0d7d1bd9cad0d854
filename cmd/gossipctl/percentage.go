package main

import (
	"errors"
	"strconv"
	"strings"
)

// percentage is the value of a flag, written as 1% or 1, which mean the same.
type percentage float64

// Set implements pflag.Value.
func (p *percentage) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil {
		return errors.New("want a number such as 1 or 0.5%")
	}
	*p = percentage(v)
	return nil
}

// String implements pflag.Value.
func (p *percentage) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) + "%" }

// Type implements pflag.Value.
func (*percentage) Type() string { return "percentage" }
