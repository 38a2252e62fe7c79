package approval

// Form says how a call is put into words on a card. Policy gives it to tools that it
// knows; any other call is shown as its tool's name and its parameters.
type Form string

// The forms.
const (
	FormCommand  Form = "command"
	FormWrite    Form = "write"
	FormPatch    Form = "patch"
	FormRead     Form = "read"
	FormDelete   Form = "delete"
	FormMessage  Form = "message"
	FormPayment  Form = "payment"
	FormFetch    Form = "fetch"
	FormDatabase Form = "database"
	FormPlan     Form = "plan"
)
