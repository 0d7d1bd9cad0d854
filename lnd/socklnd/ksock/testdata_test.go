package ksock

import (
	"bufio"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// record is a captured record: name and frame say where it comes from.
type record struct {
	name  string
	bytes []byte
}

// captured reads the records of a file in testdata: one per line, as
// "capture frame hex".
func captured(t testing.TB, file string) []record {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var records []record
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		w := strings.Fields(s.Text())
		records = append(records, record{name: w[0] + "/" + w[1], bytes: unhex(t, w[2])})
	}
	if len(records) == 0 {
		t.Fatalf("%s holds no record", file)
	}
	return records
}

// unhex parses hex in which blanks separate fields.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
