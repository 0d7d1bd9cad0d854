package main

import (
	"encoding/json"
	"fmt"

	"ulnet/scoll/wire"
)

// collectiveIdentity asks a node for its incarnation, or answers that.
type collectiveIdentity struct{ wire.Identity }

func (i *collectiveIdentity) what() string {
	if i.Kind == wire.Ask {
		return "asks for the incarnation"
	}
	return fmt.Sprintf("has the incarnation %#x", i.Incarnation)
}

// Summary implements capture.Understood.
func (i *collectiveIdentity) Summary() string { return "scoll " + i.what() + signedText(i.Signed) }

// Details implements capture.Understood.
func (i *collectiveIdentity) Details() []string {
	return []string{fmt.Sprintf("%s; version %d, nonce %#x%s", i.what(), wire.Version, i.Nonce, signedText(i.Signed))}
}

// MarshalJSON implements json.Marshaler.
func (i *collectiveIdentity) MarshalJSON() ([]byte, error) {
	e := collectiveEntry{Kind: "question", Nonce: hex(i.Nonce), Flags: flagsOfWord(i.Signed)}
	if i.Kind == wire.Tell {
		e.Kind, e.NodeIncarnation = "answer", hex(i.Incarnation)
	}
	return json.Marshal(e)
}

func signedText(signed bool) string {
	if signed {
		return ", signed"
	}
	return ""
}

// flagsOfWord are the flags of a message that has only one.
func flagsOfWord(signed bool) string {
	if signed {
		return "signed"
	}
	return ""
}
