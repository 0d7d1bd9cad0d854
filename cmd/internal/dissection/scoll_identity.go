package dissection

import (
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/scoll/wire"
)

// collectiveIdentity is a message that asks a node for its incarnation, or the answer to it.
type collectiveIdentity struct{ wire.Identity }

// identity parses a message about an incarnation, which goes to the portal of requests.
func (c *collectives) identity(r *capture.Record) (capture.Understood, error) {
	i, err := wire.ParseIdentity(r.Payload)
	if err != nil {
		return nil, err
	}
	return &collectiveIdentity{i}, nil
}

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
	o := object{{"kind", "question"}}
	if i.Kind == wire.Tell {
		o[0].value = "answer"
	}
	o.signed(i.Signed)
	o.put("nonce", hex(i.Nonce))
	if i.Kind == wire.Tell {
		o.put("incarnation", hex(i.Incarnation))
	}
	return o.MarshalJSON()
}

func signedText(signed bool) string {
	if signed {
		return ", signed"
	}
	return ""
}

// signed puts the flags of a kind of message whose only flag is "signed".
func (o *object) signed(signed bool) {
	if signed {
		o.put("flags", "signed")
	}
}
