package dissection

import "fmt"

// maxRemarks bounds the number of remarks about one message.
const maxRemarks = 8

func remark(remarks []string, format string, args ...any) []string {
	if len(remarks) == maxRemarks {
		return remarks
	}
	return append(remarks, fmt.Sprintf(format, args...))
}

// odd joins the remarks to a text for the end of a line.
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

// maxListed bounds the length of each list in the details.
const maxListed = 64

// boundedLines returns a line for each of n items. If there are more than maxListed, the last
// line gives the number of the others.
func boundedLines(n int, more string, line func(i int) string) (lines []string) {
	for i := range min(n, maxListed) {
		lines = append(lines, line(i))
	}
	if n > maxListed {
		lines = append(lines, fmt.Sprintf(more, n-maxListed))
	}
	return lines
}
