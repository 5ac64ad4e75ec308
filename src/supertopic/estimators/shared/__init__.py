"""What estimators share: reading data and labels, fitting, refusing, saving."""
