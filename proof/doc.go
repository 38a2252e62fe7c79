// Package proof makes and checks what an approval desk hands to people who do
// not trust the desk's word: it needs no desk, no store and no network to check.
//
// A receipt is a signed statement that one exact call was approved, by whom and
// until when it may run; an executor that holds the desk's public keys refuses
// everything else (see [Verify]). A checkpoint is a signed head of the log. An
// export is a stretch of the log as JSON lines. [VerifyExport] recomputes its
// chain and names the first record that is not as it was written; against a
// checkpoint that somebody kept elsewhere it also finds a log that was cut or
// written anew. The desk checks its own store with the same code, by
// [VerifyEntries].
//
// The signing keys are derived from the desk's key file, so there is nothing
// more to keep. Whoever has that file can sign whatever they like: a signature
// says "the desk's key", not "the truth".
package proof
