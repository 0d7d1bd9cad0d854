package capture_test

import (
	"encoding/hex"
	"strings"
)

// unhex parses hex in which blanks separate fields.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}
