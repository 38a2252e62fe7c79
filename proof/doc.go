// Package proof makes and checks what an approval desk hands to people who do
// not trust the desk's word: it can be checked without a desk, a store or a
// network.
//
// A receipt is a signed statement that one exact call was approved, by whom and
// until when it may run; an executor that has the desk's public keys refuses
// every other call (see [Verify]). A checkpoint is a signed head of the log. An
// export is a stretch of the log as JSON lines. [VerifyExport] recomputes its
// chain and names the first record that was changed after it was written;
// compared with a checkpoint that was kept elsewhere, it also finds a log that
// was cut or rewritten. The desk checks its own store with the same code, by
// [VerifyEntries].
//
// The signing keys are derived from the desk's key file, so there is no other
// secret to keep. Anyone who has that file can sign any text: a signature
// proves "the desk's key", not "the truth".
package proof
