package main

import "fmt"

// maxRemarks bounds what is said of one message.
const maxRemarks = 8

func remark(remarks []string, format string, args ...any) []string {
	if len(remarks) == maxRemarks {
		return remarks
	}
	return append(remarks, fmt.Sprintf(format, args...))
}

// odd is what is odd about a message, for the end of a line.
func odd(remarks []string) string {
	s := ""
	for _, r := range remarks {
		s += "; odd: " + r
	}
	return s
}

func remarkLines(remarks []string) (lines []string) {
	for _, r := range remarks {
		lines = append(lines, "odd: "+r)
	}
	return lines
}

// maxListed bounds each list in the details.
const maxListed = 64

// boundedLines are a line for each of the first of n things, and one that says how many
// more there are.
func boundedLines(n int, more string, line func(i int) string) (lines []string) {
	for i := range min(n, maxListed) {
		lines = append(lines, line(i))
	}
	if n > maxListed {
		lines = append(lines, fmt.Sprintf(more, n-maxListed))
	}
	return lines
}
