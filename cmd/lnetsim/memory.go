package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// availableMemory returns how many bytes this process can still use without swapping, according
// to /proc/meminfo and the limit of its control group. It returns 0 if neither is known.
func availableMemory() int64 {
	best := int64(math.MaxInt64)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		best = min(best, memAvailable(string(text)))
	}
	if limit, used := readBytes("/sys/fs/cgroup/memory.max"), readBytes("/sys/fs/cgroup/memory.current"); limit > 0 {
		best = min(best, max(limit-used, 1))
	}
	if best == math.MaxInt64 {
		return 0
	}
	return best
}

// memAvailable returns the value of MemAvailable in bytes.
func memAvailable(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "MemAvailable:" && words[2] == "kB" {
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return math.MaxInt64
}

// readBytes returns the number in a file; 0 if the file has none, such as "max".
func readBytes(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// size is the value of a flag: a number of bytes, written with units of 1024.
type size int64

func (s *size) Type() string { return "SIZE" }

func (s *size) String() string {
	for _, u := range sizeUnits {
		if *s >= size(u.bytes) && *s%size(u.bytes) == 0 {
			return strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

func (s *size) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = n, u.bytes
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return fmt.Errorf("want a size such as 512M or 8G")
	}
	*s = size(n * unit)
	return nil
}
