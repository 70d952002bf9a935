# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
# What Doxygen is to say of the members that every class may have, so that headers need not repeat it.
s#^( *friend (bool|auto) operator(==|<=>)\(const .*= default;)$#\1  ///< Compares all members.#
s#^( *[A-Za-z]+\([A-Za-z]+&&( [a-z]+)?\) noexcept( = default)?;)$#\1  ///< Moves.#
s#^( *[A-Za-z]+& operator=\([A-Za-z]+&&( [a-z]+)?\) noexcept( = default)?;)$#\1  ///< Moves.#
s#^( *[A-Za-z]+\([A-Za-z]+&&\) = default;)$#\1  ///< Moves.#
s#^( *[A-Za-z]+& operator=\([A-Za-z]+&&\) = default;)$#\1  ///< Moves.#
s#^( *[A-Za-z]+\(const [A-Za-z]+&\) = default;)$#\1  ///< Copies.#
s#^( *[A-Za-z]+& operator=\(const [A-Za-z]+&\) = default;)$#\1  ///< Copies.#
s#^( *[A-Za-z]+\(const [A-Za-z]+&\) = delete;)$#\1  ///< Cannot be copied.#
s#^( *[A-Za-z]+& operator=\((const )?[A-Za-z]+&+\) = delete;)$#\1  ///< Cannot be assigned.#
s#^( *(virtual )?~[A-Za-z]+\(\)( override)?( = default)?;)$#\1  ///< Destroys.#
