package keyring

// Clone is for tests in which several goroutines have a ring each.
func (r *Ring) Clone() *Ring {
	if r == nil {
		return nil
	}
	return r.clone()
}

// AppendCode is for tests of messages in parts, like VerifyCode.
func (r *Ring) AppendCode(b []byte, to Binding, parts ...[]byte) []byte {
	return append(b, r.code(0, to, parts...)...)
}

// VerifyCode reports whether a code is that of a message in parts.
func (r *Ring) VerifyCode(code []byte, to Binding, parts ...[]byte) bool {
	return r.verifies(code, to, parts...) >= 0
}
