# SPDX-License-Identifier: MIT
# Doxygen's warnings that are errors here, all but these, which have their words elsewhere: members (their type's),
# deduction guides (their class's), specialisations and parts of the backends.
/is not documented/ && /\((variable|function|typedef|enumeration|friend)\) of (class|struct|union) / { next }
/is not documented/ && / -> / { next }
/is not documented/ && /of namespace cordage::backend / { next }
/is not documented/ && /Compound cordage::(backend::|element_traits)/ { next }
{ print; found = 1 }
END { exit found }
